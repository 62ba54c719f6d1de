"""The runtime's own boto3 clients. Handlers make theirs; these are never metered."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_stepfunctions import SFNClient

UNMETERED_AGENT = "everturn-local-runtime"
"""In the user agent of clients whose requests the meter leaves out."""
UNMETERED = Config(user_agent_extra=UNMETERED_AGENT)


class Clients:
    """One boto3 client a service, all on one session, made at first use."""

    def __init__(self, region: str) -> None:
        self._session = boto3.Session(region_name=region)

    @cached_property
    def cloudformation(self) -> CloudFormationClient:
        """CloudFormation."""
        return self._session.client("cloudformation", config=UNMETERED)

    @cached_property
    def dynamodb(self) -> DynamoDBClient:
        """DynamoDB."""
        return self._session.client("dynamodb", config=UNMETERED)

    @cached_property
    def dynamodbstreams(self) -> DynamoDBStreamsClient:
        """DynamoDB Streams."""
        return self._session.client("dynamodbstreams", config=UNMETERED)

    @cached_property
    def lambda_(self) -> LambdaClient:
        """Lambda."""
        return self._session.client("lambda", config=UNMETERED)

    @cached_property
    def s3(self) -> S3Client:
        """S3."""
        return self._session.client("s3", config=UNMETERED)

    @cached_property
    def secretsmanager(self) -> SecretsManagerClient:
        """Secrets Manager."""
        return self._session.client("secretsmanager", config=UNMETERED)

    @cached_property
    def sqs(self) -> SQSClient:
        """SQS."""
        return self._session.client("sqs", config=UNMETERED)

    @cached_property
    def stepfunctions(self) -> SFNClient:
        """Step Functions."""
        return self._session.client("stepfunctions", config=UNMETERED)
